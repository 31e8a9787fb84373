import { Stack } from '@mantine/core'
import { type ReactNode, useState } from 'react'

type MoreOptionsProps = {
  label?: string
  /** Opens it, so that an error in it is seen. */
  isOpen?: boolean
  children: ReactNode
}

/** Inputs that most people leave as they are. */
export function MoreOptions({ label = 'More options', isOpen = false, children }: MoreOptionsProps) {
  const [wasOpened, setOpened] = useState(false)
  return (
    <details
      className="more-options"
      open={wasOpened || isOpen}
      onToggle={(event) => setOpened(event.currentTarget.open)}
    >
      <summary>{label}</summary>
      <Stack gap="md" mt="sm">
        {children}
      </Stack>
    </details>
  )
}
