import { NativeSelect, Text } from '@mantine/core'
import { Layers } from 'lucide-react'
import type { ReactNode } from 'react'
import { Dialog } from '#web/base/ui/dialog.tsx'
import { Loading } from '#web/base/ui/page.tsx'
import { type EnvironmentChoice, useEnvironmentChoice } from './environment-choice.ts'
import { StartHere } from './start-here.tsx'

/** What the form of something new needs to know of its environment. */
export type NewInEnvironment = {
  choice: EnvironmentChoice
  /** Why nothing can be added there. */
  reason: string | undefined
  /** The input that chooses another one; `forget` drops what belongs to the one before. */
  environmentField(forget: () => void): ReactNode
}

type AddDialogProps = {
  type: 'application' | 'server'
  /** Otherwise that of the scope, or the first one. */
  environmentId?: number | undefined
  close(): void
  children(chosen: NewInEnvironment): ReactNode
}

/** Something new in an environment: the form follows once there is one to add it to. */
export function AddDialog({ type, environmentId, close, children }: AddDialogProps) {
  const { choices, choice, reason, setChosen } = useEnvironmentChoice(`${type}:add`, environmentId)
  if (!choices || !choice)
    return (
      <Dialog title={`Add ${type}`} close={close} size="lg">
        {choices ? (
          <>
            <Text mb="md">
              There is no environment that you can add {type === 'server' ? 'a' : 'an'} {type} to.
            </Text>
            <StartHere icon={Layers} title="No environments yet" text="" />
          </>
        ) : (
          <Loading what="environments" />
        )}
      </Dialog>
    )
  // Nothing to choose, nothing to show.
  const environmentField = (forget: () => void) =>
    choices.length > 1 && (
      <NativeSelect
        label="Environment"
        value={String(choice.environment)}
        onChange={(event) => {
          forget()
          setChosen(Number(event.currentTarget.value))
        }}
        data={choices.map(({ environment, label }) => ({ value: String(environment), label }))}
      />
    )
  return children({ choice, reason, environmentField })
}
