import { element, find } from './dom.js'

/**
 * What can be found: the calls of the reference, or the sections of the guides.
 * @template Result
 * @typedef {object} Source
 * @property {string} label
 * @property {(query: string) => Result[]} find Best first.
 * @property {(result: Result, query: string) => (Node | string)[]} render
 * @property {(result: Result) => void} open
 * @property {() => Promise<void>} [load] What `find` needs, when a reader is about to type.
 */

/**
 * A combobox: `/` focuses it, arrows choose, Enter goes there.
 * @template Result
 * @param {Source<Result>} source
 */
export function installSearch(source) {
  /** @type {Result[]} */
  let results = []
  let selected = 0
  /** @type {'needed' | 'loading' | 'done' | 'failed'} */
  let loaded = source.load ? 'needed' : 'done'
  // The ids have capital letters, which those of headings never have.
  const list = element('ul', {
    id: 'searchResults',
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
    'aria-label': source.label,
    'aria-autocomplete': 'list',
    'aria-expanded': 'false',
    'aria-controls': 'searchResults',
  })
  find(document, '.search').append(input, list, count)

  async function load() {
    if (!source.load || loaded === 'loading' || loaded === 'done') return
    loaded = 'loading'
    loaded = await source.load().then(
      () => 'done',
      () => 'failed',
    )
    if (document.activeElement === input) update()
  }

  function update() {
    results = loaded === 'done' ? source.find(input.value) : []
    selected = 0
    const hasQuery = input.value.trim() !== ''
    list.replaceChildren(
      ...results.map((result, index) =>
        element('li', { id: `searchResult-${index}`, role: 'option' }, ...source.render(result, input.value)),
      ),
    )
    list.hidden = results.length === 0
    input.setAttribute('aria-expanded', String(results.length > 0))
    count.textContent = hasQuery ? statusText() : ''
    count.classList.toggle('unseen', !hasQuery || results.length > 0)
    select(0)
  }

  function statusText() {
    if (loaded === 'failed') return 'The search index could not be loaded. Try again.'
    if (loaded !== 'done') return 'Searching…'
    return `${results.length || 'No'} result${results.length === 1 ? '' : 's'}`
  }

  /** @param {number} index */
  function select(index) {
    if (results.length === 0) return input.removeAttribute('aria-activedescendant')
    selected = (index + results.length) % results.length
    for (const [position, option] of [...list.children].entries())
      option.setAttribute('aria-selected', String(position === selected))
    list.children[selected]?.scrollIntoView({ block: 'nearest' })
    input.setAttribute('aria-activedescendant', `searchResult-${selected}`)
  }

  function close() {
    list.hidden = true
    input.setAttribute('aria-expanded', 'false')
    input.removeAttribute('aria-activedescendant')
  }

  /** @param {Result | undefined} result */
  function open(result) {
    if (result === undefined) return
    input.value = ''
    update()
    input.blur()
    source.open(result)
  }

  input.addEventListener('input', () => {
    update()
    if (loaded === 'failed') void load()
  })
  input.addEventListener('focus', () => {
    void load()
    if (input.value !== '') update()
  })
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
