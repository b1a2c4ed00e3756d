'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const byId = (id) => document.getElementById(id);
  const [search, cause, risk, only, count, grid, head, rows, detail] =
    ['search', 'cause', 'risk', 'only', 'count', 'grid', 'head', 'rows', 'detail'].map(byId);
  const HEIGHT = 28, LETTERS = ['P', 'R', 'N', 'O'], SPARE = 8, MANY = 200;

  // A row is [label, kinds that it has as bits, destinations, cells]; a cell is [kind * 4 + client, who,
  // destination, left outcomes, right outcomes, causes, risk], all by number.
  const kinds = data.kinds.map((name, number) => ({ name, number }))
    .filter(({ number }) => data.rows.some((row) => row[1] >> number & 1));
  const indexed = data.rows.map((row, number) => ({
    number, label: row[0], text: row[0].toLowerCase(), has: row[1], places: row[2],
    cells: new Map(row[3].map((cell) => [cell[0], cell])),
  }));
  let shown = indexed, chosen = null;

  const make = (name, props = {}, children = []) => {
    const element = Object.assign(document.createElement(name), props);
    element.append(...children);
    return element;
  };

  const fill = (select, words) => words.forEach((word, value) => select.append(make('option', { value, textContent: word })));
  fill(cause, data.causes.map(([name, title]) => `${name}: ${title}`));
  fill(risk, data.risks.map(([word]) => word));

  const keeps = (cell) =>
    (cause.value === '' || data.sets[cell[5]].includes(+cause.value)) && (risk.value === '' || cell[6] === +risk.value);

  const lineOf = (row) => {
    const boxes = kinds.map(({ number }) => make('div', { className: 'kind' }, LETTERS.map((_, client) => {
      const cell = row.cells.get(number * 4 + client);
      if (cell && keeps(cell)) {
        const title = `${data.kinds[number]}, ${data.clients[client]}: ${data.risks[cell[6]][0]}`;
        const isChosen = chosen === cell ? ' chosen' : '';
        const button = make('button', { className: `cell ${data.risks[cell[6]][1]}${isChosen}`, title });
        button.setAttribute('aria-label', title);
        button.onclick = () => choose(row, cell);
        return button;
      }
      const can = row.has >> number & 1 && data.senders[number] >> client & 1;
      return make('i', { className: `cell ${can ? 'same' : 'none'}` });
    })));
    return make('div', { className: 'line' }, [make('div', { className: 'name', title: row.label, textContent: row.label }), ...boxes]);
  };

  // Only the lines in sight are there.
  const draw = () => {
    const from = Math.max(0, Math.floor(grid.scrollTop / HEIGHT) - SPARE);
    const to = Math.min(shown.length, Math.ceil((grid.scrollTop + grid.clientHeight) / HEIGHT) + SPARE);
    rows.style.height = `${shown.length * HEIGHT}px`;
    rows.replaceChildren(...shown.slice(from, to).map((row, nth) => {
      const line = lineOf(row);
      line.style.top = `${(from + nth) * HEIGHT}px`;
      return line;
    }));
  };

  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const narrow = only.checked || cause.value !== '' || risk.value !== '';
    shown = indexed.filter((row) =>
      words.every((word) => row.text.includes(word)) && (!narrow || [...row.cells.values()].some(keeps)));
    count.textContent = `${shown.length} of ${indexed.length} rows`;
    grid.scrollTop = 0;
    draw();
    keep();
  };

  // What is looked for stands in the address, so that a page can be passed on as it is seen.
  const keep = () => {
    const state = new URLSearchParams();
    if (search.value) state.set('find', search.value);
    if (cause.value !== '') state.set('cause', data.causes[cause.value][0]);
    if (risk.value !== '') state.set('risk', data.risks[risk.value][0]);
    if (only.checked) state.set('differing', '1');
    if (chosen) state.set('cell', `${chosen[0]}@${chosen.row.label}`);
    history.replaceState(null, '', `#${state}`);
  };

  const recall = () => {
    const card = byId(location.hash.slice(1));
    if (card) {
      if (card.tagName === 'DETAILS') card.open = true;
      return;
    }
    const state = new URLSearchParams(location.hash.slice(1));
    const number = (list, name) => list.findIndex((words) => words[0] === name);
    const pick = (select, list, name) => { select.value = name === null || number(list, name) < 0 ? '' : number(list, name); };
    search.value = state.get('find') ?? '';
    pick(cause, data.causes, state.get('cause'));
    pick(risk, data.risks, state.get('risk'));
    only.checked = state.has('differing') || (location.hash === '' && indexed.length > MANY);
    const [place, label] = (state.get('cell') ?? '').split(/@(.*)/);
    const row = indexed.find((row) => row.label === label);
    if (row && row.cells.has(+place)) choose(row, row.cells.get(+place));
    filter();
  };

  const bars = (side) => data.sides[side][0].map(([text, number]) => {
    const [share, percent] = data.shares[number];
    const bar = make('i');
    bar.style.width = `${percent}%`;
    return make('div', { className: `bar ${data.fates[text]}` }, [bar, make('b', { textContent: share }), ` ${data.texts[text]}`]);
  }).concat(data.sides[side][1] ? [make('p', { className: 'hint', textContent: `and ${data.sides[side][1]} more` })] : []);

  const choose = (row, cell) => {
    chosen = cell;
    chosen.row = row;
    const [place, who, to, left, right, set, level] = cell;
    const links = data.sets[set].map((number) => {
      const [name, title, anchor] = data.causes[number];
      const link = make('a', { href: `#${anchor}`, textContent: `${name}: ${title}` });
      link.onclick = () => { byId(anchor).open = true; };
      return link;
    });
    detail.replaceChildren(
      make('h3', { textContent: row.label }),
      make('p', { className: 'hint', textContent: `${data.kinds[place >> 2]}, ${data.clients[place & 3]}` }),
      make('span', { className: `badge ${data.risks[level][1]}`, textContent: data.risks[level][0] }),
      make('p', { className: 'flow', textContent: `${data.who[who]} to ${row.places[to]}` }),
      make('h4', { textContent: data.names[0] }), ...bars(left),
      make('h4', { textContent: data.names[1] }), ...bars(right),
      make('h4', { textContent: 'because' }), make('div', { className: 'causes' }, links.length ? links : ['nothing documented']),
    );
    draw();
    keep();
  };

  head.append(
    make('div', { className: 'line' }, [make('div', { className: 'name' }), ...kinds.map(({ name }) => make('div', { className: 'kind', textContent: name }))]),
    make('div', { className: 'line letters' }, [make('div', { className: 'name', textContent: '' }),
      ...kinds.map(() => make('div', { className: 'kind' }, LETTERS.map((letter) => make('i', { textContent: letter }))))]),
  );
  [search, cause, risk, only].forEach((control) => control.addEventListener('input', filter));
  grid.addEventListener('scroll', () => requestAnimationFrame(draw), { passive: true });
  window.addEventListener('resize', draw);
  window.addEventListener('hashchange', recall);
  recall();
  document.body.dataset.rows = String(shown.length);
})();
