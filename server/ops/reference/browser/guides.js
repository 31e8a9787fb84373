// Adds to a guide what needs a script: search, copying, and the list of guides on small screens.
import { copyButton } from './code.js'
import { element, find, findAll } from './dom.js'
import { excerptOf, searchGuides } from './guide-search.js'
import { installMenu } from './navigation.js'
import { installSearch } from './search-box.js'

/** @import { Section } from './guide-search.js' */

/** @type {Section[]} */
let sections = []

installSearch({
  label: 'Search the guides',
  async load() {
    const response = await fetch('/docs/guides/search.json')
    if (!response.ok) throw new Error(`${response.status}`)
    sections = await response.json()
  },
  find: (query) => searchGuides(sections, query),
  render: ({ page, heading, text }, query) => [
    element('span', {}, page === heading ? page : `${page}: ${heading}`),
    element('small', {}, excerptOf(text, query)),
  ],
  open: ({ url }) => location.assign(url),
})

for (const figure of findAll(document, 'figure.code'))
  find(figure, 'figcaption').append(copyButton(() => find(figure, 'code').textContent))

installMenu(find(document, '#guideList'), 'Guides')
