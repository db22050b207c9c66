import { Component, type ReactNode } from "react";

// Caught shows a message in place of a view that cannot be drawn.
export class Caught extends Component<{ children: ReactNode }, { error?: Error }> {
  override state: { error?: Error } = {};

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <div className="sg-message" role="alert">
        <h1 tabIndex={-1}>This cannot be shown</h1>
        <p>That is a defect of the page. stepgate get and stepgate explain say the same in a terminal.</p>
        <pre>{error.message}</pre>
      </div>
    );
  }
}
