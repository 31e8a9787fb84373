import { element, find, findAll } from './dom.js'

/** The contents show where the reader is; on small screens a button shows the contents. */
export function installNavigation() {
  const contents = find(document, '#contents')
  const links = new Map(
    findAll(contents, 'a').map((link) => [
      decodeURIComponent(link.getAttribute('href') ?? '').slice(1),
      link,
    ]),
  )
  /** @type {HTMLElement | undefined} */
  let current

  /** @param {string} id */
  function mark(id) {
    const link = links.get(id)
    if (!link || link === current) return
    current?.removeAttribute('aria-current')
    const group = link.closest('details')
    const former = current?.closest('details')
    if (former && former !== group) former.open = false
    if (group) group.open = true
    link.setAttribute('aria-current', 'true')
    current = link
    const { top, bottom, height } = link.getBoundingClientRect()
    if (height === 0) return
    if (top < 64 || bottom > innerHeight) contents.scrollTop += top - innerHeight / 3
  }

  // What crosses a line in the upper part of the window is what is being read.
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) if (isIntersecting) mark(target.id)
    },
    { rootMargin: '-20% 0px -79% 0px' },
  )
  for (const target of findAll(document, 'main article, main .topic')) observer.observe(target)
  if (location.hash.length > 1) mark(location.hash.slice(1))
  installMenu(contents, 'Contents')
}

/**
 * The button that shows the contents where there is no room beside the text.
 * @param {HTMLElement} contents
 * @param {string} label
 */
export function installMenu(contents, label) {
  const button = element(
    'button',
    { type: 'button', className: 'menu', 'aria-expanded': 'false', 'aria-controls': contents.id },
    label,
  )
  find(document, 'header').prepend(button)
  /** @param {boolean} isOpen */
  const show = (isOpen) => {
    contents.classList.toggle('open', isOpen)
    button.setAttribute('aria-expanded', String(isOpen))
  }
  button.addEventListener('click', () => show(!contents.classList.contains('open')))
  contents.addEventListener('click', (event) => {
    if (event.target instanceof Element && event.target.closest('a')) show(false)
  })
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !contents.classList.contains('open')) return
    show(false)
    button.focus()
  })
}
