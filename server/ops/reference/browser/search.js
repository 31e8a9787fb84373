// Which calls and schemas fit what a reader types. Pure.

/**
 * @typedef {{ id: string, method: string, title: string, path: string, description: string }} Entry
 */

const MAX_RESULTS = 30

/**
 * Every word has to occur somewhere; the title counts most, the description least. Best first, then in the order of
 * the page.
 * @param {readonly Entry[]} entries
 * @param {string} query
 * @returns {Entry[]}
 */
export function search(entries, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return []
  return entries
    .map((entry) => ({ entry, score: scoreOf(entry, words) }))
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score)
    .slice(0, MAX_RESULTS)
    .map(({ entry }) => entry)
}

/**
 * @param {Entry} entry
 * @param {string[]} words
 */
function scoreOf(entry, words) {
  const scores = words.map((word) => scoreOfWord(entry, word))
  return scores.includes(0) ? 0 : scores.reduce((sum, score) => sum + score, 0)
}

/**
 * @param {Entry} entry
 * @param {string} word
 */
function scoreOfWord({ id, method, title, path, description }, word) {
  const lowerTitle = title.toLowerCase()
  const lowerId = id.toLowerCase()
  if (lowerId === word || path.toLowerCase() === word) return 100
  return (
    (lowerTitle.split(/[^a-z0-9]+/).some((part) => part.startsWith(word)) ? 20 : 0) +
    (lowerTitle.includes(word) ? 10 : 0) +
    (lowerId.includes(word) ? 8 : 0) +
    (path.toLowerCase().includes(word) ? 6 : 0) +
    (method.toLowerCase() === word ? 6 : 0) +
    (description.toLowerCase().includes(word) ? 1 : 0)
  )
}
