import { Button, Tooltip } from '@mantine/core'
import { useMemo } from 'react'
import { ReasonedButton } from '#web/base/ui/controls.tsx'
import { notify } from '#web/base/ui/notify.ts'
import { type JsonPick, parseJson } from '#web/shared/editor/json-nodes.ts'
import { JsonTree } from '#web/shared/editor/json-tree.tsx'
import { missingVariables, whyNoVariable, withCondition, withPathFor, withVariable } from './from-pick.ts'
import type { HookForm } from './use-hook-form.ts'

/** Variables that a call lacks: more buttons would hide the value. */
const MAX_OFFERED = 3

/** The payload. A selected value becomes the source of a variable that it lacks, a new variable, or a condition of the unsaved hook. */
export function PayloadTree({ text, form }: { text: string; form: HookForm }) {
  const { variables, conditions } = form.values

  const parsed = useMemo(() => parseJson(text), [text])
  const missing =
    parsed.kind === 'json' ? missingVariables(variables, parsed.value).slice(0, MAX_OFFERED) : []

  function takeFor(name: string, pick: JsonPick): void {
    form.set('variables', withPathFor(variables, name, pick))
    notify.done(`Variable ${name} is read from ${pick.path}. Save the hook to keep it.`)
  }

  function addVariable(pick: JsonPick): void {
    const next = withVariable(variables, pick)
    form.set('variables', next)
    const isKnown = next.length === variables.length
    notify.done(isKnown ? `${pick.path} already is a variable.` : `Variable ${next.at(-1)!.name} added.`)
  }

  function addCondition(pick: JsonPick): void {
    form.set('conditions', withCondition(conditions, pick))
    notify.done(`Condition on ${pick.path} added.`)
  }

  return (
    <JsonTree
      label="Body"
      text={text}
      actions={(pick) => (
        <>
          {missing.map(({ name }) => (
            <ReasonedButton
              key={name}
              size="compact-sm"
              reason={whyNoVariable(pick)}
              onClick={() => takeFor(name, pick)}
            >
              Use for {name}
            </ReasonedButton>
          ))}
          <ReasonedButton
            size="compact-sm"
            variant="default"
            reason={whyNoVariable(pick)}
            onClick={() => addVariable(pick)}
          >
            Add variable
          </ReasonedButton>
          <Tooltip label={`Only calls with this value of ${pick.path} start a run`} openDelay={500}>
            <Button size="compact-sm" variant="default" onClick={() => addCondition(pick)}>
              Add condition
            </Button>
          </Tooltip>
        </>
      )}
    />
  )
}
