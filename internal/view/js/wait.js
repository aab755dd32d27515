// A page that waits until that of a run is made.

async function waitPage() {
  const out = find("#state"), bar = find("#bar");
  let last = null;
  const show = () => { if (last) out.textContent = last.error ? say("view.failed", last.error) : progressText(last); };
  onLanguage.push(show);
  try {
    await done("/api/run/" + document.body.dataset.run, [], (p) => {
      last = p;
      show();
      if (p.total) bar.value = p.done / p.total;
    });
    location.reload();
  } catch (e) {
    last = { error: e.message };
    show();
    bar.hidden = true;
  }
}
