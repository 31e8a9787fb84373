import { findAll } from './dom.js'

/** Fields of named schemas unfold where they are used: a copy of what the schema's own section shows. */
export function installSchemas() {
  document.addEventListener(
    'toggle',
    (event) => {
      const details = event.target
      if (details instanceof HTMLDetailsElement && details.open && details.dataset.schema) unfold(details)
    },
    true,
  )
}

/** @param {HTMLDetailsElement} details */
function unfold(details) {
  const section = document.getElementById(`schema-${details.dataset.schema}`)
  delete details.dataset.schema
  const parts = section ? findAll(section, ':scope > :not(h3, .description)') : []
  if (parts.length === 0) return
  const copies = parts.map((part) => /** @type {HTMLElement} */ (part.cloneNode(true)))
  for (const copy of copies) {
    for (const inner of copy.querySelectorAll('details')) inner.open = false
  }
  details.replaceChildren(/** @type {HTMLElement} */ (details.firstElementChild), ...copies)
}
