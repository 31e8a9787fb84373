import { element, find, findAll } from './dom.js'
import { search } from './search.js'
import { installSearch } from './search-box.js'

/** @import { Entry } from './search.js' */

/** Finds everything on the page. */
export function installOperationSearch() {
  const entries = readEntries()
  installSearch({
    label: 'Search the API',
    find: (query) => search(entries, query),
    render: renderResult,
    open: ({ id }) => goTo(id),
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

/** @param {Entry} entry */
function renderResult({ method, title, path }) {
  return [
    ...(method ? [element('b', { className: 'method', 'data-verb': method }, method), ' '] : []),
    element('span', {}, title),
    element('small', {}, path === '' ? 'Schema' : path),
  ]
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
