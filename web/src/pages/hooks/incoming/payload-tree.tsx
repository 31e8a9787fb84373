import { Button, Tooltip } from '@mantine/core'
import { ReasonedButton } from '#web/base/ui/controls.tsx'
import { notify } from '#web/base/ui/notify.ts'
import type { JsonPick } from '#web/shared/editor/json-nodes.ts'
import { JsonTree } from '#web/shared/editor/json-tree.tsx'
import { whyNoVariable, withCondition, withVariable } from './from-pick.ts'
import type { HookForm } from './use-hook-form.ts'

/** The payload. A selected value becomes a variable or a condition of the unsaved hook. */
export function PayloadTree({ text, form }: { text: string; form: HookForm }) {
  const { variables, conditions } = form.values

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
