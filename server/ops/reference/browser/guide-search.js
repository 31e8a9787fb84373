// Which sections of the guides fit what a reader types. Pure.

/**
 * A heading with the text below it, up to the next heading.
 * @typedef {{ page: string, heading: string, url: string, text: string }} Section
 */

const MAX_RESULTS = 20
const EXCERPT_BEFORE = 40
const EXCERPT_LENGTH = 150

/**
 * Every word has to occur somewhere; the heading counts most, the text least. Best first, then in the order of the guides.
 * @param {readonly Section[]} sections
 * @param {string} query
 * @returns {Section[]}
 */
export function searchGuides(sections, query) {
  const words = wordsOf(query)
  if (words.length === 0) return []
  return sections
    .map((section) => ({ section, score: scoreOf(section, words) }))
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score)
    .slice(0, MAX_RESULTS)
    .map(({ section }) => section)
}

/**
 * The part of the text where the first word occurs.
 * @param {string} text
 * @param {string} query
 */
export function excerptOf(text, query) {
  const lower = text.toLowerCase()
  const found = wordsOf(query)
    .map((word) => lower.indexOf(word))
    .filter((at) => at >= 0)
  const start = Math.max(0, Math.min(...(found.length > 0 ? found : [0])) - EXCERPT_BEFORE)
  // From the beginning of a word on.
  const from = start === 0 ? 0 : text.indexOf(' ', start) + 1
  const excerpt = text.slice(from, from + EXCERPT_LENGTH)
  return `${from > 0 ? '…' : ''}${excerpt}${from + EXCERPT_LENGTH < text.length ? '…' : ''}`
}

/** @param {string} query */
function wordsOf(query) {
  return query.toLowerCase().split(/\s+/).filter(Boolean)
}

/**
 * @param {Section} section
 * @param {string[]} words
 */
function scoreOf({ page, heading, text }, words) {
  const lower = { page: page.toLowerCase(), heading: heading.toLowerCase(), text: text.toLowerCase() }
  const scores = words.map((word) => scoreOfWord(lower, word))
  if (scores.includes(0)) return 0
  const isHeading = lower.heading === words.join(' ') ? 50 : 0
  return scores.reduce((sum, score) => sum + score, isHeading)
}

/**
 * @param {{ page: string, heading: string, text: string }} section
 * @param {string} word
 */
function scoreOfWord({ page, heading, text }, word) {
  return (
    (heading.split(/[^a-z0-9]+/).some((part) => part.startsWith(word)) ? 20 : 0) +
    (heading.includes(word) ? 10 : 0) +
    (page.includes(word) ? 3 : 0) +
    (text.includes(word) ? 1 + Math.min(text.split(word).length, 4) : 0)
  )
}
