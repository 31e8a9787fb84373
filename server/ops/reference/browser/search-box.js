import { element, find, findAll } from './dom.js'
import { search } from './search.js'

/** @import { Entry } from './search.js' */

/** A combobox over everything on the page: `/` focuses it, arrows choose, Enter goes there. */
export function installSearch() {
  const entries = readEntries()
  /** @type {Entry[]} */
  let results = []
  let selected = 0
  const list = element('ul', {
    id: 'results',
    className: 'results',
    role: 'listbox',
    'aria-label': 'Search results',
    hidden: true,
  })
  const count = element('p', { className: 'unseen', role: 'status' })
  const input = element('input', {
    type: 'search',
    placeholder: 'Search (press /)',
    autocomplete: 'off',
    spellcheck: false,
    role: 'combobox',
    'aria-label': 'Search the API',
    'aria-autocomplete': 'list',
    'aria-expanded': 'false',
    'aria-controls': 'results',
  })
  find(document, '.search').append(input, list, count)

  function update() {
    results = search(entries, input.value)
    selected = 0
    const hasQuery = input.value.trim() !== ''
    list.replaceChildren(...results.map(renderResult))
    list.hidden = results.length === 0
    input.setAttribute('aria-expanded', String(results.length > 0))
    count.textContent = hasQuery ? `${results.length || 'No'} result${results.length === 1 ? '' : 's'}` : ''
    count.classList.toggle('unseen', !hasQuery || results.length > 0)
    select(0)
  }

  /** @param {number} index */
  function select(index) {
    if (results.length === 0) return input.removeAttribute('aria-activedescendant')
    selected = (index + results.length) % results.length
    for (const [position, option] of [...list.children].entries())
      option.setAttribute('aria-selected', String(position === selected))
    list.children[selected]?.scrollIntoView({ block: 'nearest' })
    input.setAttribute('aria-activedescendant', `result-${selected}`)
  }

  function close() {
    list.hidden = true
    input.setAttribute('aria-expanded', 'false')
    input.removeAttribute('aria-activedescendant')
  }

  /** @param {Entry | undefined} entry */
  function open(entry) {
    if (!entry) return
    input.value = ''
    update()
    input.blur()
    goTo(entry.id)
  }

  input.addEventListener('input', update)
  input.addEventListener('focus', () => input.value !== '' && update())
  input.addEventListener('blur', close)
  input.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown') select(selected + 1)
    else if (event.key === 'ArrowUp') select(selected - 1)
    else if (event.key === 'Enter') open(results[selected])
    else if (event.key === 'Escape' && input.value === '') input.blur()
    else return
    event.preventDefault()
  })
  // Before the input loses the focus, which closes the list.
  list.addEventListener('mousedown', (event) => {
    event.preventDefault()
    const option = event.target instanceof Element ? event.target.closest('[role=option]') : null
    if (option) open(results[[...list.children].indexOf(option)])
  })
  document.addEventListener('keydown', (event) => {
    const isTyping =
      event.target instanceof Element && event.target.closest('input, textarea, select, dialog')
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    input.focus()
    input.select()
  })
}

/** @returns {Entry[]} */
function readEntries() {
  return findAll(document, 'article').map((article) => ({
    id: article.id,
    method: article.dataset.method ?? '',
    title: find(article, 'h3').textContent,
    path: article.dataset.path ?? '',
    description: article.querySelector('.description')?.textContent ?? '',
  }))
}

/**
 * @param {Entry} entry
 * @param {number} index
 */
function renderResult({ method, title, path }, index) {
  const address = path === '' ? 'Schema' : path
  return element(
    'li',
    { id: `result-${index}`, role: 'option' },
    ...(method ? [element('b', { className: 'method', 'data-verb': method }, method), ' '] : []),
    element('span', {}, title),
    element('small', {}, address),
  )
}

/**
 * Moves there as a link does, and the focus with it, so that the next Tab continues from there.
 * @param {string} id
 */
function goTo(id) {
  location.hash = id
  const heading = document.getElementById(id)?.querySelector('h3 a')
  if (heading instanceof HTMLElement) heading.focus({ preventScroll: true })
}
