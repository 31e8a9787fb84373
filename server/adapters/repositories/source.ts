// What a deploy takes. Refs come out of payloads, and so from anyone: whatever git itself would not call a branch
// or a tag is told apart here, and only full names (`refs/heads/…`) and hexadecimal digits ever reach git.

export type Source = { type: 'branch' | 'tag' | 'commit'; ref: string }

export type Wanted = { kind: 'ref'; name: string } | { kind: 'hash'; digits: string }

export type ReadSource = Wanted | { kind: 'impossible'; message: string }

const LONGEST = 1_024
const FOLDERS = { branch: 'refs/heads/', tag: 'refs/tags/' }

export function readSource({ type, ref }: Source): ReadSource {
  if (ref === '') return { kind: 'impossible', message: `No ${type} was named.` }
  if (type === 'commit') {
    const digits = ref.toLowerCase()
    if (/^[0-9a-f]{7,64}$/.test(digits)) return { kind: 'hash', digits }
    return { kind: 'impossible', message: `${quote(ref)} is no commit: one has 7 to 64 hexadecimal digits.` }
  }
  if (isRefName(ref)) return { kind: 'ref', name: `${FOLDERS[type]}${ref}` }
  return { kind: 'impossible', message: `${quote(ref)} cannot be the name of a ${type}.` }
}

/** The rules of `git check-ref-format`, and no leading dash, which git refuses for branches and tags. */
function isRefName(name: string): boolean {
  return (
    Buffer.byteLength(name) <= LONGEST &&
    name.isWellFormed() &&
    !/[\0-\x20\x7f~^:?*[\\]|\.\.|@\{|\.$|^-/.test(name) &&
    name.split('/').every((part) => part !== '' && !part.startsWith('.') && !part.endsWith('.lock'))
  )
}

/** Foreign text inside a sentence: in quotes, in one line, nothing invisible, not too long. */
export function quote(text: string): string {
  const short = text.length > 80 ? `${text.slice(0, 80)}…` : text
  return `"${short.replace(/[\p{C}\p{Zl}\p{Zp}"\\]/gu, escapeCharacter)}"`
}

function escapeCharacter(character: string): string {
  if (character === '"' || character === '\\') return `\\${character}`
  return `\\u{${character.codePointAt(0)!.toString(16)}}`
}
