import { readFileSync } from 'node:fs'

const [SHEBANG, ...LINES] = readFileSync(new URL('./install.sh', import.meta.url), 'utf8').split('\n')

/**
 * The script behind `curl -fsSL <instance>/cli/install.sh | sh`. Everything is in one function that is called at the
 * end, so that half a script does nothing. `url` is the configured address of the instance, never the Host of a request;
 * it becomes the argument of the script.
 */
export function installScript(url: string): string {
  return [SHEBANG, `set -- ${quote(url)}`, ...LINES].join('\n')
}

const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
