// Which submodules belong to a release, and where their files go. Pure.

/** A submodule, with its path in the repository of the application. */
export type Submodule = { path: string; hash: string; address: string }

/** The files of one repository: a folder of it (empty: all), and where that is in the archive (empty: at the top). */
export type ArchivePart = { submodule: Submodule | null; folder: string; prefix: string }

/** `./apps/shop/` → `apps/shop`; undefined when it leads outside. */
export function readFolder(text: string): string | undefined {
  const parts = text.split('/').filter((part) => part !== '' && part !== '.')
  return text.startsWith('/') || parts.includes('..') || /[\0-\x1f\x7f]/.test(text)
    ? undefined
    : parts.join('/')
}

/** Whether a release of this root directory contains files of a submodule at that path: below the root, or around it. */
export function concerns(root: string, path: string): boolean {
  return isWithin(path, root) || isWithin(root, path)
}

/**
 * What a release consists of, in the order in which it is unpacked. The root directory may be inside a submodule: then
 * the innermost one around it takes the place of the repository.
 */
export function archiveParts(root: string, submodules: readonly Submodule[]): ArchivePart[] {
  const around = submodules
    .filter(({ path }) => isWithin(root, path))
    .reduce<Submodule | null>(
      (inner, one) => (inner && inner.path.length > one.path.length ? inner : one),
      null,
    )
  const first = { submodule: around, folder: cutOff(root, around?.path ?? ''), prefix: '' }
  const others = submodules
    .filter(({ path }) => path !== root && isWithin(path, root))
    .map((submodule) => ({ submodule, folder: '', prefix: cutOff(submodule.path, root) }))
  return [first, ...others]
}

/** Whether a path is a folder or something in it. Everything is within the empty path. */
function isWithin(path: string, folder: string): boolean {
  return folder === '' || path === folder || path.startsWith(`${folder}/`)
}

const cutOff = (path: string, folder: string) => (folder === '' ? path : path.slice(folder.length + 1))
