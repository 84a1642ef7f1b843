/* The theme asks for the whole search index with the first page. It is sent for when somebody is
   about to search: the box takes the focus or its panel opens. */
{
  const send = XMLHttpRequest.prototype.send;
  const open = XMLHttpRequest.prototype.open;
  const wanted = new Promise((resolve) => {
    for (const event of ["focusin", "change"])
      document.addEventListener(event, ({ target }) => {
        if (target.closest(".md-search, #__search")) resolve();
      });
  });
  XMLHttpRequest.prototype.open = function (method, address, ...rest) {
    this.waits = String(address).endsWith("/search_index.json");
    return open.call(this, method, address, ...rest);
  };
  XMLHttpRequest.prototype.send = function (...body) {
    if (!this.waits) return send.apply(this, body);
    wanted.then(() => send.apply(this, body));
  };
}
