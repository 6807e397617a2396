// The page of Throng Studio. It sends what is clicked, and replaces the parts that come back; all markup is made by the server.
'use strict';

const byId = (id) => document.getElementById(id);

// Sending. A refused action comes back as a message on the page, so the answer itself is not needed.
const send = (action) =>
  fetch('do', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(action) }).catch(() => {});

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
  // A field that is being edited is the user's; the server hears of it soon.
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
    const start = { intervals: '5, 10, 20', mask: 'right', date: 'month, year', tree: '', file: 'hierarchies/' }[field.value];
    send({ do: 'preview', kind: field.value, text: start });
  } else if ('import' in field.dataset && field.files.length) send({ do: 'import', lines: await field.files[0].text() });
});

document.addEventListener('focusout', (event) => { if (event.target.dataset) delete event.target.dataset.edited; });

document.addEventListener('submit', (event) => {
  event.preventDefault();
  if ('open' in event.target.dataset) {
    send({ do: 'open', path: new FormData(event.target).get('path') });
    event.target.closest('details')?.removeAttribute('open');
  } else if (builderOf(event.target)) preview(event.target);
});

byId('dialog').addEventListener('cancel', (event) => { event.preventDefault(); send({ do: 'close_builder' }); });

document.addEventListener('keydown', (event) => {
  const isText = event.target.matches?.('input, textarea');
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
  const key = event.key.toLowerCase();
  if (key === 's') { event.preventDefault(); send({ do: 'save' }); }
  else if (key === 'z' && !isText) { event.preventDefault(); send({ do: event.shiftKey ? 'redo' : 'undo' }); }
});

listen();
showDialog();
