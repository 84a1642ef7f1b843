/* A formula or a table that is wider than the page scrolls, with the keys too: it takes the focus while
   it is. And the buttons on code are no navigation, which would be one more of that name each time. */
{
  const boxes = ".equation-body, .md-typeset__scrollwrap";
  const widths = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const box = target.closest(boxes);
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  });
  document$.subscribe(({ body }) => {
    for (const box of body.querySelectorAll(boxes))
      for (const part of [box, box.firstElementChild]) widths.observe(part);
    for (const nav of body.querySelectorAll(".md-code__nav")) nav.setAttribute("role", "none");
  });
}
