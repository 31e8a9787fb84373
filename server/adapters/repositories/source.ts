// The source of a deploy. Refs come from payloads, and so from anyone: what git itself would not accept as a branch
// or tag is rejected here, and only full names (`refs/heads/…`) and hexadecimal digits ever reach git.

export type Source = { type: 'branch' | 'tag' | 'commit'; ref: string }

export type Wanted = { kind: 'ref'; name: string } | { kind: 'hash'; digits: string }

export type ReadSource = Wanted | { kind: 'impossible'; message: string }

const MAX_BYTES = 1_024
const FOLDERS = { branch: 'refs/heads/', tag: 'refs/tags/' }

export function readSource({ type, ref }: Source): ReadSource {
  if (ref === '') return { kind: 'impossible', message: `No ${type} was specified.` }
  if (type === 'commit') {
    const digits = ref.toLowerCase()
    if (/^[0-9a-f]{7,64}$/.test(digits)) return { kind: 'hash', digits }
    return { kind: 'impossible', message: `${quote(ref)} is not a commit: use 7 to 64 hexadecimal digits.` }
  }
  if (isRefName(ref)) return { kind: 'ref', name: `${FOLDERS[type]}${ref}` }
  return { kind: 'impossible', message: `${quote(ref)} is not a valid ${type} name.` }
}

/** The rules of `git check-ref-format`, and no leading dash, which git rejects for branches and tags. */
function isRefName(name: string): boolean {
  return (
    Buffer.byteLength(name) <= MAX_BYTES &&
    name.isWellFormed() &&
    !/[\0-\x20\x7f~^:?*[\\]|\.\.|@\{|\.$|^-/.test(name) &&
    name.split('/').every((part) => part !== '' && !part.startsWith('.') && !part.endsWith('.lock'))
  )
}

/** Untrusted text in a sentence: quoted, in one line, nothing invisible, not too long. */
export function quote(text: string): string {
  const short = text.length > 80 ? `${text.slice(0, 80)}…` : text
  return `"${short.replace(/[\p{C}\p{Zl}\p{Zp}"\\]/gu, escapeCharacter)}"`
}

function escapeCharacter(character: string): string {
  if (character === '"' || character === '\\') return `\\${character}`
  return `\\u{${character.codePointAt(0)!.toString(16)}}`
}
