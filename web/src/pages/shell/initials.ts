/** Up to two letters that stand for a person, in any script. */
export function initials(name: string): string {
  const words = name.trim().split(/\s+/u)
  const first = [words[0], words.length > 1 ? words.at(-1) : '']
  return first
    .map((word = '') => [...new Intl.Segmenter().segment(word)][0]?.segment ?? '')
    .join('')
    .toLocaleUpperCase()
}
