/* What has the focus, as somebody sees it who has only keys; nothing if nothing has it. */
() => {
  const focused = document.activeElement;
  if (focused === document.body) return null;
  focused.dataset.met = "";

  /* Of a switch without a size of its own, what is seen is a label beside it. */
  const labels = focused.parentElement.querySelectorAll("label, .tabbed-labels");
  const shown = [focused, ...labels].find((one) => one.getClientRects()[0]?.width);
  const box = shown.getClientRects()[0];
  const middle = (start, end, limit) => (Math.max(start, 0) + Math.min(end, limit)) / 2;
  const at = [middle(box.left, box.right, innerWidth), middle(box.top, box.bottom, innerHeight)];
  const on = document.elementFromPoint(...at);
  const { outlineStyle, outlineWidth } = getComputedStyle(shown);
  const name = focused.ariaLabel || focused.title || (focused.labels?.[0] ?? focused).textContent;
  return {
    name: name.replace(/[\s¶]+/g, " ").trim().slice(0, 40),
    tag: focused.localName,
    covered: shown.contains(on) ? "" : on?.outerHTML.slice(0, 80) ?? "beyond the window",
    ringed: outlineStyle !== "none" && parseFloat(outlineWidth) >= 2,
  };
};
