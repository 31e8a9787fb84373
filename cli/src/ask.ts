// Questions on a terminal. Ctrl-C ends the command.
import * as prompts from '@clack/prompts'
import { Interrupted } from './failure.ts'
import { plain } from './screen.ts'

async function answered<Answer>(answer: Promise<Answer>): Promise<Exclude<Answer, symbol>> {
  const given = await answer
  if (prompts.isCancel(given)) throw new Interrupted()
  return given as Exclude<Answer, symbol>
}

export const confirm = (message: string, initialValue = false) =>
  answered(prompts.confirm({ message: plain(message), initialValue }))

/** Enter takes `initial`. An empty answer is allowed where `isOptional`. */
export function askText(message: string, initial = '', { isOptional = false } = {}): Promise<string> {
  return answered(
    prompts.text({
      message: plain(message),
      placeholder: plain(initial),
      defaultValue: initial,
      validate: (text) =>
        (text ?? '') === '' && initial === '' && !isOptional ? 'Enter a value.' : undefined,
    }),
  ).then((text) => (text ?? '').trim() || initial)
}

/** Shows dots. An empty answer is allowed where `isOptional`. */
export const askSecret = (message: string, { isOptional = false } = {}) =>
  answered(
    prompts.password({
      message: plain(message),
      validate: (text) => ((text ?? '') === '' && !isOptional ? 'Enter a value.' : undefined),
    }),
  ).then((text) => text ?? '')

export type Choice = { value: string; label: string; hint?: string }

export function choose(message: string, choices: readonly Choice[], initialValue?: string): Promise<string> {
  const options = choices.map(({ value, label, hint }) => ({
    value,
    label: plain(label),
    ...(hint && { hint: plain(hint) }),
  }))
  return answered(prompts.select({ message: plain(message), options, initialValue, maxItems: 12 }))
}
