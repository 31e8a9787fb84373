// How names are written in paths and identifiers: the server and the command line must agree on it.

/** 'Sample Organization' → 'sample-organization'; never empty. */
export function slugify(name: string): string {
  return joinWords(name, /[^a-z0-9]+/g).slice(0, 60) || 'unnamed'
}

/** Like a slug, but keeps the letters of every script: 'Магазин 2' → 'магазин-2'. Empty without letters and digits. */
export function slugifyAnyScript(name: string): string {
  return joinWords(name, /[^\p{L}\p{M}\p{N}]+/gu)
}

function joinWords(name: string, separators: RegExp): string {
  return (
    name
      .normalize('NFKD')
      .replaceAll(/[\u0300-\u036f]/g, '')
      // NFKD takes apart more than accents: Korean syllables, for example.
      .normalize('NFC')
      .toLowerCase()
      .replaceAll(separators, '-')
      .replaceAll(/^-+|-+$/g, '')
  )
}
