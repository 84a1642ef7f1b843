/* What a page in the window shows, and how much of it can be seen. */
() => {
  const seen = document.body.cloneNode(true);
  for (const code of seen.querySelectorAll("code, pre, script, annotation")) code.remove();

  /* How far a formula reaches out of the page, or out of a box that scrolls, beyond its ends. */
  const page = document.querySelector("main article").getBoundingClientRect();
  const outside = (one, { left, right }) => Math.max(left - one.left, one.right - right);
  const beyond = (formula) => {
    const place = formula.getBoundingClientRect();
    const box = formula.closest(".equation-body, .md-typeset__scrollwrap");
    if (!box || getComputedStyle(box).overflowX !== "auto") return outside(place, page);
    const edge = box.getBoundingClientRect();
    const left = edge.left - box.scrollLeft;
    return Math.max(outside(edge, page), outside(place, { left, right: left + box.scrollWidth }));
  };
  const formulas = [...document.querySelectorAll("math")];
  const links = [...document.links].filter(
    (link) => link.checkVisibility({ visibilityProperty: true }) && !link.hasAttribute("download"),
  );
  return {
    text: `${document.title} ${seen.textContent}`,
    formulas: formulas.length,
    unset: formulas.filter((formula) => !(formula instanceof MathMLElement)).length,
    bare: document.querySelectorAll(".arithmatex, .equation-body > :not(math)").length,
    cut: formulas.filter((one) => beyond(one) > 1).map((one) => one.textContent.slice(-80)),
    wider: document.documentElement.scrollWidth - innerWidth,
    links: links.map((link) => link.href.split("#")[0]),
  };
};
