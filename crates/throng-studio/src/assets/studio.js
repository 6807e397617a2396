// The page of Throng Studio. It sends what is clicked, and replaces the parts that come back; all markup is made by the server.
'use strict';

const byId = (id) => document.getElementById(id);

// Sending, in the order of what was done: the browser would send two requests at once by two connections. A refused action comes back as
// a message on the page, so the answer itself is not needed. What stops the work does not wait for it.
let sent = Promise.resolve();
const post = (action) =>
  fetch('do', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(action) }).catch(() => {});
const send = (action) => { if (action.do === 'cancel') post(action); else sent = sent.then(() => post(action)); };

// At most one action of a kind per interval, and always the last one.
const waiting = new Map();
const soon = (key, action, delay) => {
  clearTimeout(waiting.get(key));
  waiting.set(key, setTimeout(() => { waiting.delete(key); send(action); }, delay));
};

// Replacing. Elements that stay keep their focus, selection, scroll position and open state.
const isSame = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id || '') === (b.id || '');
const keptAttributes = (element) => (element.nodeName === 'DETAILS' ? ['open'] : []);
const morphAttributes = (old, fresh) => {
  const kept = keptAttributes(old);
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && !kept.includes(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value && !kept.includes(name)) old.setAttribute(name, value);
};
const morphValue = (old, fresh) => {
  // A field that is being edited is the user's; the server receives it soon.
  const isEdited = old === document.activeElement && old.dataset.edited === 'yes';
  if (isEdited) return;
  if (old.nodeName === 'TEXTAREA') { if (old.value !== fresh.textContent) old.value = fresh.textContent; }
  else if (old.nodeName === 'SELECT') { const chosen = fresh.querySelector('option[selected]'); if (chosen) old.value = chosen.value; }
  else if (old.nodeName === 'INPUT') {
    if (old.type === 'radio' || old.type === 'checkbox') old.checked = fresh.hasAttribute('checked');
    else if (old.type !== 'file') { const value = fresh.getAttribute('value') || ''; if (old.value !== value) old.value = value; }
  }
};
const morph = (old, fresh) => {
  const before = [...old.childNodes], after = [...fresh.childNodes];
  after.forEach((node, at) => {
    const known = before[at];
    if (!known) old.append(node);
    else if (!isSame(known, node)) known.replaceWith(node);
    else if (known.nodeType === Node.TEXT_NODE) { if (known.data !== node.data) known.data = node.data; }
    else if (known.nodeType === Node.ELEMENT_NODE) {
      morphAttributes(known, node);
      if (known.nodeName !== 'TEXTAREA') morph(known, node);
      morphValue(known, node);
    }
  });
  before.slice(after.length).forEach((node) => node.remove());
};
const show = (name, markup) => {
  const part = byId(name);
  if (!part) return;
  const template = document.createElement('template');
  template.innerHTML = markup;
  morph(part, template.content);
};

// The dialog is open while it has content.
const showDialog = () => {
  const dialog = byId('dialog'), hasContent = dialog.childElementCount > 0;
  if (hasContent && !dialog.open) dialog.showModal();
  if (!hasContent && dialog.open) dialog.close();
};

const listen = () => {
  const events = new EventSource('events');
  events.onmessage = (event) => {
    byId('lost').hidden = true;
    const { parts } = JSON.parse(event.data);
    for (const [name, markup] of Object.entries(parts)) show(name, markup);
    if ('dialog' in parts) put(null);
    showDialog();
    document.documentElement.dataset.ready = 'yes';
  };
  events.onerror = () => { byId('lost').hidden = false; };
};

// Clicks and fields.
document.addEventListener('click', (event) => {
  const button = event.target.closest('button');
  if (!button) return;
  if (button.dataset.do) {
    const action = JSON.parse(button.dataset.do), form = builderOf(button);
    // What is in the fields counts, also while its preview is on the way.
    if (form) { clearTimeout(waiting.get('preview')); waiting.delete('preview'); }
    send(form && ['apply', 'export'].includes(action.do) ? { ...action, ...entered(form) } : action);
  }
  if (button.dataset.node) choose(button);
  if ('group' in button.dataset) {
    if (picked === null) say('Press the line that the group is for first.');
    else send({ do: 'group', text: byId('builder-text').value, from: picked, name: byId('group-name').value });
  }
  if (button.dataset.line) {
    const text = byId('text'), line = Number(button.dataset.line), lines = text.value.split('\n');
    const start = lines.slice(0, line - 1).join('\n').length + (line > 1 ? 1 : 0);
    text.focus();
    text.setSelectionRange(start, start + (lines[line - 1] || '').length);
    text.scrollTop = Math.max(0, (line - 4) * parseFloat(getComputedStyle(text).lineHeight));
  }
});

const builderOf = (element) => element.closest('form[data-builder]');
const entered = (form) => {
  const { kind, text } = Object.fromEntries(new FormData(form));
  return { kind: String(kind ?? ''), text: String(text ?? '') };
};
const preview = (form) => soon('preview', { do: 'preview', ...entered(form) }, 300);

// Arranging a tree: a line is picked, by a press or by dragging it, and put down on another. The server moves it in the text.
let picked = null;
const say = (words) => { const said = byId('arrange-said'); if (said) said.textContent = words; };
const nodes = () => document.querySelectorAll('[data-node]');
const put = (line) => {
  picked = line;
  for (const node of nodes()) node.setAttribute('aria-pressed', String(node.dataset.node === String(line)));
};
const move = (onto) => {
  const from = picked;
  put(null);
  if (from !== null && String(from) !== onto) {
    send({ do: 'move', text: byId('builder-text').value, from, onto: onto === 'top' ? null : Number(onto) });
  }
};
const choose = (node) => {
  if (picked !== null) move(node.dataset.node);
  else if (node.dataset.node === 'top') say('Press the line that goes to the top first.');
  else { put(Number(node.dataset.node)); say(`${node.firstChild.data.trim()} is picked. Press where it goes, or Escape.`); }
};
document.addEventListener('dragstart', (event) => {
  const node = event.target.closest?.('[data-node]');
  if (!node) return;
  put(Number(node.dataset.node));
  event.dataTransfer.effectAllowed = 'move';
  // The text stays here: what is dropped elsewhere says nothing.
  event.dataTransfer.setData('text/plain', '');
});
document.addEventListener('dragover', (event) => {
  const node = event.target.closest?.('[data-node]');
  if (!node || picked === null) return;
  event.preventDefault();
  nodes().forEach((other) => other.classList.toggle('over', other === node));
});
document.addEventListener('drop', (event) => {
  const node = event.target.closest?.('[data-node]');
  if (node && picked !== null) { event.preventDefault(); move(node.dataset.node); }
});
document.addEventListener('dragend', () => { put(null); nodes().forEach((node) => node.classList.remove('over')); });

document.addEventListener('input', (event) => {
  const field = event.target;
  field.dataset.edited = 'yes';
  if (field.id === 'text') soon('text', { do: 'text', text: field.value }, 400);
  else if (field.dataset.set && 'live' in field.dataset) {
    const twin = byId(field.id.replace('-slider', '-value'));
    if (twin) twin.value = field.value;
    soon(field.id, { ...JSON.parse(field.dataset.set), value: field.value }, 120);
  } else if (builderOf(field) && field.name === 'text') preview(builderOf(field));
});

document.addEventListener('change', async (event) => {
  const field = event.target;
  delete field.dataset.edited;
  if (field.dataset.set && !('live' in field.dataset)) send({ ...JSON.parse(field.dataset.set), value: field.value });
  else if (builderOf(field) && field.name === 'kind') {
    const start = { intervals: '5, 10, 20', mask: 'right', date: 'month, year', tree: '', file: 'hierarchies/' }[field.value] ?? '';
    send({ do: 'preview', kind: field.value, text: start });
  } else if ('import' in field.dataset && field.files.length) send({ do: 'import', lines: await field.files[0].text() });
});

document.addEventListener('focusout', (event) => { if (event.target.dataset) delete event.target.dataset.edited; });

document.addEventListener('submit', (event) => {
  event.preventDefault();
  if (document.activeElement?.id === 'group-name') { document.querySelector('[data-group]').click(); return; }
  if ('open' in event.target.dataset) {
    send({ do: 'open', path: new FormData(event.target).get('path') });
    event.target.closest('details')?.removeAttribute('open');
  } else if (builderOf(event.target)) preview(event.target);
});

byId('dialog').addEventListener('cancel', (event) => {
  event.preventDefault();
  if (picked === null) send({ do: 'close_dialog' });
  else { put(null); say('Nothing is picked.'); }
});

document.addEventListener('keydown', (event) => {
  const isText = event.target.matches?.('input, textarea');
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
  const key = event.key.toLowerCase();
  if (key === 's') { event.preventDefault(); send({ do: 'save' }); }
  else if (key === 'z' && !isText) { event.preventDefault(); send({ do: event.shiftKey ? 'redo' : 'undo' }); }
});

listen();
showDialog();
