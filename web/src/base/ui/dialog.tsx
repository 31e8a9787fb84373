// Dialogs: open for as long as they are rendered.
import './more-styles.ts'
import { Button, Group, Modal, type ModalProps, Stack } from '@mantine/core'
import type { ReactNode } from 'react'
import type { QueryState } from '#web/base/api/queries.ts'
import { useLayer } from './layers.ts'
import { Loaded } from './page.tsx'
import { useReturnFocus } from './use-return-focus.ts'

type DialogProps = Pick<ModalProps, 'title' | 'size' | 'centered' | 'children'> & {
  close(): void
  /** Only its own buttons close it, so that nothing is lost by a slip. */
  isPersistent?: boolean
}

/** Closing it returns the focus to where it was. */
export function Dialog({ close, isPersistent = false, ...rest }: DialogProps) {
  useReturnFocus()
  const isTop = useLayer()
  // Locking the scroll would inject a style element, which the content security policy blocks.
  return (
    <Modal
      {...rest}
      opened
      onClose={() => isTop() && close()}
      closeOnClickOutside={!isPersistent}
      closeOnEscape={!isPersistent}
      lockScroll={false}
      closeButtonProps={{ 'aria-label': 'Close' }}
    />
  )
}

type DialogFooterProps = { close(): void; dismiss?: string; mt?: 'md'; children: ReactNode }

/** `children` are the buttons after the one that closes. */
export function DialogFooter({ close, dismiss = 'Cancel', mt, children }: DialogFooterProps) {
  return (
    <Group justify="flex-end" gap="sm" mt={mt} className="form-footer">
      <Button variant="default" onClick={close}>
        {dismiss}
      </Button>
      {children}
    </Group>
  )
}

/** Shows something; there is nothing to decide. */
export function DoneDialog({ close, children, ...rest }: DialogProps) {
  return (
    <Dialog size="lg" close={close} {...rest}>
      <Stack gap="md">
        {children}
        <Group justify="flex-end">
          <Button onClick={close}>Done</Button>
        </Group>
      </Stack>
    </Dialog>
  )
}

type EditDialogProps<Stored> = {
  title: string
  /** The noun for messages: "role". */
  what: string
  query: QueryState<Stored>
  close(): void
  children(stored: Stored): ReactNode
}

/** The dialog of a form, once what it changes is loaded. */
export function EditDialog<Stored>({ title, what, query, close, children }: EditDialogProps<Stored>) {
  if (query.data) return children(query.data)
  return (
    <Dialog title={title} size="lg" close={close}>
      <Loaded query={query} what={what}>
        {() => null}
      </Loaded>
    </Dialog>
  )
}
