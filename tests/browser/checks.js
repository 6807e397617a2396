// Checks a page as a reader sees it, and returns everything that is wrong with it.
(() => {
  const problems = [];
  const rgb = (text) => {
    const parts = text.match(/[\d.]+/g).map(Number);
    return { channels: parts.slice(0, 3), alpha: parts.length > 3 ? parts[3] : 1 };
  };
  const luminance = (channels) => {
    const linear = channels.map((c) => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = rgb(getComputedStyle(at).backgroundColor);
      if (color.alpha === 1) return color.channels;
      if (color.alpha > 0) problems.push(`a background that shines through: <${at.tagName}>`);
    }
    return matchMedia('(prefers-color-scheme: dark)').matches ? [0, 0, 0] : [255, 255, 255];
  };
  const words = (text) => text.trim().replace(/\s+/g, ' ').slice(0, 40);

  // Text against what is behind it: WCAG 2 AA, computed from computed styles.
  let looked = 0, lowest = 21;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, element = node.parentElement;
    if (!node.data.trim() || element.closest('title, desc, style')) continue;
    const style = getComputedStyle(element);
    if (style.visibility !== 'visible' || element.getClientRects().length === 0) continue;
    const text = rgb(element instanceof SVGElement ? style.fill : style.color);
    let opacity = text.alpha;
    for (let at = element; at; at = at.parentElement) opacity *= Number(getComputedStyle(at).opacity);
    const paper = behind(element);
    const ink = text.channels.map((c, i) => c * opacity + paper[i] * (1 - opacity));
    const [a, b] = [luminance(ink), luminance(paper)];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const size = parseFloat(style.fontSize), isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (contrast < (isLarge ? 3 : 4.5)) problems.push(`contrast ${contrast.toFixed(2)}: ${words(node.data)}`);
    if (size < 11.5) problems.push(`${size}px is too small: ${words(node.data)}`);
    lowest = Math.min(lowest, contrast);
    looked += 1;
  }

  // Nothing sticks out to the side, and no two labels of a plot lie on each other.
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) problems.push(`the page is wider than ${width}px`);
  for (const element of document.querySelectorAll('body *')) {
    // What scrolls on its own, is folded away or is for screen readers only may lie anywhere.
    if (element.closest('.scroll, .hidden, .skip, details:not([open]), dialog:not([open])')) continue;
    const box = element.getBoundingClientRect();
    if (box.width && (box.right > width + 0.5 || box.left < -0.5)) {
      problems.push(`<${element.tagName} class="${element.getAttribute('class')}"> sticks out: ${words(element.textContent)}`);
    }
  }
  for (const plot of document.querySelectorAll('svg[role=img]')) {
    const labels = [...plot.querySelectorAll('text')].map((text) => [text, text.getBoundingClientRect()]);
    labels.forEach(([a, one], at) => labels.slice(at + 1).forEach(([b, other]) => {
      const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const down = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      if (across > 1 && down > 3) problems.push(`labels overlap: ${words(a.textContent)} | ${words(b.textContent)}`);
    }));
  }

  // Tables have headers with a scope, plots have titles and descriptions, headings come in order.
  for (const table of document.querySelectorAll('table')) {
    if (!table.caption || !table.caption.textContent.trim()) problems.push('a table without a caption');
    if (!table.tHead || !table.tHead.querySelector('th')) problems.push('a table without a head');
    for (const header of table.querySelectorAll('th')) if (!header.scope) problems.push(`a header without a scope: ${words(header.textContent)}`);
  }
  const plots = document.querySelectorAll('svg:not([aria-hidden=true])');
  let described = 0;
  for (const plot of plots) {
    if (plot.parentElement.closest('svg')) continue;
    const ids = (plot.getAttribute('aria-labelledby') || '').split(' ');
    const [title, description] = ids.map((id) => document.getElementById(id));
    const isWhole = plot.getAttribute('role') === 'img' && title?.tagName === 'title' && description?.tagName === 'desc'
      && title.textContent.trim().length > 3 && description.textContent.trim().length > 20;
    if (!isWhole) problems.push('a plot without a title or a description');
    described += 1;
  }
  const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
  if (new Set(ids).size !== ids.length) problems.push('two elements with the same id');
  let level = 0;
  for (const heading of document.querySelectorAll('h1, h2, h3, h4')) {
    const own = Number(heading.tagName[1]);
    if (own > level + 1) problems.push(`a heading is left out before: ${words(heading.textContent)}`);
    level = own;
  }
  if (!document.documentElement.lang || !document.title) problems.push('no language or no title');
  if (document.scripts.length) problems.push('there is a script');
  return { problems, looked, lowest, plots: described, tables: document.querySelectorAll('table').length };
})()
