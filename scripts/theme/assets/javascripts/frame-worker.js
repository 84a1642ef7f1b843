/* A page that is opened from a folder may start no worker, and search runs in one. There the worker's
   script runs in a hidden frame, which takes and sends messages in the same way. */
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.ready = new Promise((resolve) => {
        const script = this.inside.document.createElement("script");
        script.src = address;
        script.onload = resolve;
        this.inside.document.body.append(script);
      });
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
