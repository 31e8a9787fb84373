import { GantryError } from '@gantry/client'
import { EXIT } from '../exit-codes.ts'
import { exitCodeOf, Failure } from '../failure.ts'

const MAX_SHOWN = 20

/** What is wrong with a document, one line each, where editors and terminals make `file:12:9` a link. */
export function documentFailure(error: unknown, file: string): unknown {
  if (!(error instanceof GantryError)) return error
  const lines = Object.entries(error.errors).flatMap(([path, problems]) =>
    problems.map((problem) => {
      const [, line, column, text] = /^line (\d+), column (\d+): (.*)$/s.exec(problem) ?? []
      const isAboutAll = path === 'document'
      return line
        ? { at: Number(line), text: `${file}:${line}:${column}: ${isAboutAll ? '' : `${path} `}${text}` }
        : { at: 0, text: `${file}: ${isAboutAll ? '' : `${path} `}${problem}` }
    }),
  )
  if (lines.length === 0) return error
  const shown = lines.sort((one, other) => one.at - other.at).slice(0, MAX_SHOWN)
  const more = lines.length - shown.length
  const message = error.status === 403 ? 'You lack permissions for parts of it.' : 'It cannot be applied.'
  return new Failure(
    [message, ...shown.map(({ text }) => text), ...(more > 0 ? [`and ${more} more`] : [])].join('\n'),
    {
      exit: exitCodeOf(error),
      hint:
        exitCodeOf(error) === EXIT.notAllowed
          ? 'Ask an administrator of the organization for the permissions.'
          : 'Nothing was changed.',
    },
  )
}
