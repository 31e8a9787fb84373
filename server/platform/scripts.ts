// The bash that Gantry runs is in `.sh` files next to the modules that send it. They read it when they are imported, and send
// it as it is: values travel beside it, as variables of the environment or as arguments, and are never part of it.

import { readFileSync } from 'node:fs'

/**
 * A script without its comments. Scripts that it names with `source` become part of it: servers have none of these files.
 * `base`: the `import.meta.url` of the module.
 */
export function readScript(name: string, base: string): string {
  const file = new URL(name, base)
  return readFileSync(file, 'utf8')
    .replaceAll(/^ *#.*\n|^\n/gm, '')
    .replaceAll(/^source (\S+)\n/gm, (_, shared: string) => readScript(shared, file.href))
}

/** For a command line. Every line of such a script ends where a space may follow: after `;`, `do`, `then`, `{`, `)` or `in`. */
export function readOneLiner(name: string, base: string): string {
  return readScript(name, base).trim().replaceAll(/\n */g, ' ')
}
