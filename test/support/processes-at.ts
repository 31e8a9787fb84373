import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** Other processes that use one of these paths, in their command line, environment, working directory or files. */
export function processesAt(paths: string[]): string[] {
  const isThere = (text: string) => paths.some((path) => text.includes(path))
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return []
    const about = [
      tryRead(() => readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ')),
      tryRead(() => readFileSync(`/proc/${pid}/environ`, 'latin1')),
      tryRead(() => readlinkSync(`/proc/${pid}/cwd`)),
      ...tryRead(() =>
        readdirSync(`/proc/${pid}/fd`).map((fd) => tryRead(() => readlinkSync(`/proc/${pid}/fd/${fd}`))),
      ),
    ]
    const [text] = about
    return about.some((one) => one !== '' && isThere(one)) ? [`${pid} ${text}`] : []
  })
}

/** A process may exit meanwhile, or belong to another account. */
function tryRead<Result extends string | string[]>(read: () => Result): Result | '' {
  try {
    return read()
  } catch {
    return ''
  }
}
