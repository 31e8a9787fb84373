/**
 * A path that all releases share: plain names and slashes, nothing else. The kind says what a missing one becomes:
 * a folder, or a link through which the application creates the file.
 */
export type SharedPath = { kind: 'folder' | 'file'; path: string }

export type ReadSharedPaths =
  | { kind: 'paths'; paths: SharedPath[] }
  /** For people; `index` is that of the invalid text. */
  | { kind: 'invalid'; problems: { index: number; message: string }[] }

const MAX_PATHS = 100
const MAX_BYTES = 255

/** From user input to paths that a command may use. */
export function readSharedPaths(texts: readonly string[]): ReadSharedPaths {
  if (texts.length > MAX_PATHS) {
    const message = `an application has at most ${MAX_PATHS} shared paths`
    return { kind: 'invalid', problems: [{ index: MAX_PATHS, message }] }
  }
  const paths = texts.map(readPath)
  const problems = texts.flatMap((text, index) => {
    const message = sharedPathProblem(text) ?? overlap(paths, index)
    return message ? [{ index, message }] : []
  })
  return problems.length > 0 ? { kind: 'invalid', problems } : { kind: 'paths', paths }
}

/** Why one text, on its own, is not a shared path. */
export function sharedPathProblem(text: string): string | undefined {
  const { path } = readPath(text)
  const parts = path.split('/')
  if (path === '') return 'must be a file or a folder'
  if (text.startsWith('/')) return 'must be relative to the release'
  if (parts.includes('..')) return 'must not leave the release'
  if (parts.some((part) => part === '' || part === '.')) return 'must not have empty segments or "."'
  if (parts.includes('.gantry-part')) return 'must not have a segment named ".gantry-part"'
  if (/[\0-\x1f\x7f]/.test(text)) return 'must not contain control characters'
  if (!text.isWellFormed()) return 'must not contain half of a surrogate pair'
  if (Buffer.byteLength(path) > MAX_BYTES) return `is longer than ${MAX_BYTES} bytes`
  return undefined
}

/** `storage/` is a folder; without the slash `.env` and `config/app.json` look like files, `storage` does not. */
function readPath(text: string): SharedPath {
  const path = text.endsWith('/') ? text.slice(0, -1) : text
  const name = path.slice(path.lastIndexOf('/') + 1)
  return { kind: path === text && name.includes('.') ? 'file' : 'folder', path }
}

/** Linking `a` takes `a/b` out of the release: it cannot be linked again. */
function overlap(paths: SharedPath[], index: number): string | undefined {
  const { path } = paths[index]!
  const other = paths.find(
    (one, position) =>
      position < index && (one.path === path || isInside(one.path, path) || isInside(path, one.path)),
  )
  return other && `overlaps with the shared path ${JSON.stringify(other.path)}`
}

function isInside(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/`)
}
