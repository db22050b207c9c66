// Has the extension use the React of Argo CD's UI, which is 19 since Argo CD 3.5, and older before. It has all that the
// components use, but for useSyncExternalStore before 18 and the JSX runtime.
const react = `
const React = window.React;
function useSyncExternalStore(subscribe, read) {
  const [value, set] = React.useState(read);
  React.useEffect(() => {
    const look = () => set(() => read());
    look();
    return subscribe(look);
  }, [subscribe]);
  return value;
}
module.exports = React.useSyncExternalStore ? React : { ...React, useSyncExternalStore };
`;

const runtime = `
const React = window.React;
const create = (several) => (type, { children, ...props }, key) => {
  if (key !== undefined) props.key = key;
  if (children === undefined) return React.createElement(type, props);
  return several ? React.createElement(type, props, ...children) : React.createElement(type, props, children);
};
module.exports = window.ReactJSXRuntime ?? { Fragment: React.Fragment, jsx: create(false), jsxs: create(true) };
`;

const modules = { react, "react-dom": "module.exports = window.ReactDOM;", "react/jsx-runtime": runtime };

export const hostReact = {
  name: "host-react",
  setup(build) {
    build.onResolve({ filter: /^react(-dom|\/jsx-runtime)?$/ }, ({ path }) => ({ path, namespace: "host-react" }));
    build.onLoad({ filter: /.*/, namespace: "host-react" }, ({ path }) => ({ contents: modules[path], loader: "js" }));
  },
};
