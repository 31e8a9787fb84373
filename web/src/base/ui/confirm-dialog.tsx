import { Button, Group, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { isNotFound } from '#web/base/api/api.ts'
import { Dialog } from './dialog.tsx'
import { notify } from './notify.ts'
import { ErrorAlert } from './page.tsx'

type QuestionProps = {
  title: string
  /** What happens. */
  children: ReactNode
  button: string
  dismiss?: string | undefined
  color?: string | undefined
  isDisabled?: boolean
  /** `children` say what came of it. */
  isExplained?: boolean
  close(): void
}
type QuestionDialogProps = QuestionProps & { isPending?: boolean; error?: Error | null; confirm(): void }

/** Asks before something happens, and shows why it did not. */
export function QuestionDialog(props: QuestionDialogProps) {
  const {
    title,
    children,
    button,
    dismiss = 'Cancel',
    color,
    isPending,
    isDisabled,
    isExplained,
    error,
    close,
  } = props
  return (
    <Dialog close={close} title={title} centered>
      <Text component="div" size="sm" className="wrap">
        {children}
      </Text>
      {error && !isExplained && <ErrorAlert error={error} />}
      <Group justify="flex-end" mt="lg">
        <Button variant="default" onClick={close}>
          {dismiss}
        </Button>
        <Button
          color={color}
          loading={isPending}
          disabled={isDisabled}
          onClick={() => props.confirm()}
          data-autofocus
        >
          {button}
        </Button>
      </Group>
    </Dialog>
  )
}

type ConfirmDialogProps<Result> = QuestionProps & {
  act(): Promise<Result>
  /** What the toast says afterward. */
  done?: string
  /** Called once it is closed; also when what it is about does not exist anymore. */
  onDone?(result: Result | undefined): unknown
  /** Shows the result in its place, instead of closing. */
  show?(result: Result): void
  isPending?: boolean
  error?: Error | null
}

/** The same for one request: sends it, and says what came of it. */
export function ConfirmDialog<Result>(props: ConfirmDialogProps<Result>) {
  const { act, done, onDone, show, close, ...rest } = props
  const { mutate, isPending, error } = useMutation({
    // The result may be a secret that is shown once.
    gcTime: 0,
    mutationFn: () => act(),
    onSuccess(result) {
      if (show) return show(result)
      close()
      if (done !== undefined) notify.done(done)
      return void onDone?.(result)
    },
    onError(problem) {
      if (!isNotFound(problem) || done === undefined) return
      close()
      notify.problem(new Error('It does not exist anymore.'))
      void onDone?.(undefined)
    },
  })
  return (
    <QuestionDialog
      {...rest}
      isPending={isPending || rest.isPending}
      error={error ?? rest.error}
      confirm={mutate}
      close={close}
    />
  )
}
