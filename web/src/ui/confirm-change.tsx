import { Text } from '@mantine/core'
import { type QueryKey, useMutation, useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { isNotFound } from '../api/api.ts'
import { ConfirmDialog } from './confirm-dialog.tsx'
import { notify } from './notify.ts'

type ConfirmChangeProps = {
  title: string
  /** What happens. */
  children: ReactNode
  button: string
  color?: string
  /** What the toast says afterward. */
  done: string
  invalidates: QueryKey
  change(): Promise<unknown>
  close(): void
}

/** Asks, changes something, and shows the lists as they are afterward. */
export function ConfirmChange(props: ConfirmChangeProps) {
  const { title, children, button, color, done, invalidates, change, close } = props
  const queries = useQueryClient()
  const { mutate, isPending, error } = useMutation({
    mutationFn: change,
    onSuccess() {
      close()
      notify.done(done)
      void queries.invalidateQueries({ queryKey: invalidates })
    },
    onError(gone) {
      if (!isNotFound(gone)) return
      close()
      notify.problem(new Error('It does not exist anymore.'))
      void queries.invalidateQueries({ queryKey: invalidates })
    },
  })
  return (
    <ConfirmDialog
      title={title}
      button={button}
      color={color}
      isPending={isPending}
      error={error}
      confirm={mutate}
      close={close}
    >
      <Text size="sm" className="wrap">
        {children}
      </Text>
    </ConfirmDialog>
  )
}
