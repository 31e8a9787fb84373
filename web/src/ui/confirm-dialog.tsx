import { Button, Group } from '@mantine/core'
import type { ReactNode } from 'react'
import { ErrorAlert } from './page.tsx'
import { Dialog } from './parts.tsx'

type ConfirmDialogProps = {
  title: string
  /** What happens. */
  children: ReactNode
  button: string
  dismiss?: string | undefined
  color?: string | undefined
  isPending: boolean
  isDisabled?: boolean
  error: Error | null
  confirm(): void
  close(): void
}

/** Asks before something happens, and shows why it did not. */
export function ConfirmDialog({
  title,
  children,
  button,
  dismiss = 'Cancel',
  color,
  isPending,
  isDisabled = false,
  error,
  confirm,
  close,
}: ConfirmDialogProps) {
  return (
    <Dialog close={close} title={title} centered>
      {children}
      {error && <ErrorAlert error={error} />}
      <Group justify="flex-end" mt="lg">
        <Button variant="default" onClick={close}>
          {dismiss}
        </Button>
        <Button
          color={color}
          loading={isPending}
          disabled={isDisabled}
          onClick={() => confirm()}
          data-autofocus
        >
          {button}
        </Button>
      </Group>
    </Dialog>
  )
}
