import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** Processes, other than this one, that have to do with one of these places: by their text, folder or files. */
export function processesAt(places: string[]): string[] {
  const isThere = (text: string) => places.some((place) => text.includes(place))
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return []
    const about = [
      look(() => readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ')),
      look(() => readFileSync(`/proc/${pid}/environ`, 'latin1')),
      look(() => readlinkSync(`/proc/${pid}/cwd`)),
      ...look(() =>
        readdirSync(`/proc/${pid}/fd`).map((fd) => look(() => readlinkSync(`/proc/${pid}/fd/${fd}`))),
      ),
    ]
    const [text] = about
    return about.some((one) => one !== '' && isThere(one)) ? [`${pid} ${text}`] : []
  })
}

/** A process may end, or be somebody else's, while one looks. */
function look<Result extends string | string[]>(read: () => Result): Result | '' {
  try {
    return read()
  } catch {
    return ''
  }
}
