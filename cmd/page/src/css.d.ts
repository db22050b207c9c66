// In the extension, a style sheet is a text.
declare module "*.css" {
  const text: string;
  export default text;
}
