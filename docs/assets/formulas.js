// Formulas of the manual, typeset by KaTeX, which lies beside this file: nothing is asked from elsewhere.
document.addEventListener("DOMContentLoaded", () => {
  const delimiters = [
    { left: "\\(", right: "\\)", display: false },
    { left: "\\[", right: "\\]", display: true },
  ];
  for (const element of document.querySelectorAll(".arithmatex")) {
    renderMathInElement(element, { delimiters, throwOnError: false });
  }
});
