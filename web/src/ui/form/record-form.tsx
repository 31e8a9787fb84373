import { Alert, Button, Group, Stack } from '@mantine/core'
import { type ReactNode, useEffect, useId, useRef } from 'react'
import { ErrorAlert } from '../page.tsx'
import { Conflict } from './conflict.tsx'
import type { RecordForm as FormState } from './use-record-form.ts'

type RecordFormProps<Values extends object> = {
  form: FormState<Values>
  /** The text of the button: "Add server". */
  submit: string
  cancel?: (() => void) | undefined
  /** The names of fields in a conflict, where they differ from the API's. */
  labels?: Partial<Record<keyof Values & string, string>>
  /** Why nothing can be saved; shown next to the disabled button. */
  reason?: string | undefined
  children: ReactNode
}

export function RecordForm<Values extends object>(props: RecordFormProps<Values>) {
  const { form, submit, cancel, labels, reason, children } = props
  const element = useRef<HTMLFormElement>(null)
  const reasonId = useId()
  const { errors, error, conflict } = form
  const invalid = Object.keys(errors).join()
  useEffect(() => {
    if (invalid) element.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [invalid])
  return (
    <form
      ref={element}
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        event.stopPropagation()
        form.submit()
      }}
    >
      <Stack gap="md">
        {form.isRestored && form.isDirty && (
          <Alert color="blue" role="status">
            <Group justify="space-between" gap="xs">
              Your unsaved changes were restored.
              <Button size="compact-sm" variant="default" onClick={form.discard}>
                Discard
              </Button>
            </Group>
          </Alert>
        )}
        {children}
        {error && <ErrorAlert error={error} />}
        {conflict && <Conflict mine={form.values} labels={labels} {...conflict} />}
        <Group justify="flex-end" gap="sm" className="form-footer">
          {reason && (
            <span className="dimmed" id={reasonId}>
              {reason}
            </span>
          )}
          {cancel && (
            <Button variant="default" onClick={cancel}>
              Cancel
            </Button>
          )}
          <Button
            type="submit"
            // On a page it stands out once there is something to save.
            variant={cancel || form.isDirty ? 'filled' : 'default'}
            loading={form.isSaving}
            disabled={reason !== undefined || conflict !== undefined}
            aria-describedby={reason && reasonId}
          >
            {submit}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
