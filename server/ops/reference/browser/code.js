import { element, find, findAll } from './dom.js'

const KEY = 'gantry-reference-language'
const LANGUAGES = ['curl', 'TypeScript']
const COPIED_MS = 2_000

/** One language at a time, the same for all calls, and a button that copies. */
export function installCode() {
  for (const figure of findAll(document, 'figure.code')) {
    const caption = find(figure, 'figcaption')
    const switches = LANGUAGES.map((language) =>
      element('button', { type: 'button', className: 'language', value: language }, language),
    )
    caption.replaceChildren(
      ...switches,
      copyButton(() => find(figure, 'code').textContent),
    )
  }
  document.addEventListener('click', (event) => {
    const button = event.target instanceof Element ? event.target.closest('button.language') : null
    if (button instanceof HTMLButtonElement) choose(button)
  })
  show(localStorage.getItem(KEY) ?? LANGUAGES[0] ?? '')
}

/**
 * Keeps the button, or its twin in the other figure, where it is on the screen, with the focus.
 * @param {HTMLButtonElement} button
 */
function choose(button) {
  const before = button.getBoundingClientRect().top
  const group = button.closest('.samples')
  localStorage.setItem(KEY, button.value)
  show(button.value)
  const twin = group?.querySelector(`figure[data-language=${button.value}] button[value=${button.value}]`)
  if (!(twin instanceof HTMLElement)) return
  twin.focus({ preventScroll: true })
  scrollBy(0, twin.getBoundingClientRect().top - before)
}

/** @param {string} language */
function show(language) {
  const known = LANGUAGES.includes(language) ? language : 'curl'
  document.documentElement.dataset.language = known
  for (const button of findAll(document, 'button.language'))
    button.setAttribute('aria-pressed', String(button instanceof HTMLButtonElement && button.value === known))
}

/**
 * @param {() => string} read
 * @returns {HTMLButtonElement}
 */
export function copyButton(read) {
  const button = element('button', { type: 'button', className: 'copy' }, 'Copy')
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer
  button.addEventListener('click', async () => {
    button.textContent = (await copy(read())) ? 'Copied' : 'Not copied'
    clearTimeout(timer)
    timer = setTimeout(() => {
      button.textContent = 'Copy'
    }, COPIED_MS)
  })
  return button
}

/**
 * Pages that are not served over HTTPS have no clipboard, except on this machine: there a selection is copied.
 * @param {string} text
 */
async function copy(text) {
  if (navigator.clipboard) {
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    )
  }
  const area = element('textarea', { value: text, className: 'unseen' })
  document.body.append(area)
  area.select()
  const isDone = document.execCommand('copy')
  area.remove()
  return isDone
}
