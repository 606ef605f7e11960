/** Python sources are embedded as text. */
declare module "*.py" {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: the form in which Bun gives a text import
  export default text;
}
