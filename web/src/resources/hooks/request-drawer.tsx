import { Drawer } from '@mantine/core'
import { type ReactNode, useEffect, useState } from 'react'
import { useLayer } from '#web/base/ui/layers.ts'

type RequestDrawerProps = { title: ReactNode; close(): void; children: ReactNode; size?: string }

/** One call or delivery, over the page of its hook. Closing it returns the focus to where it was. */
export function RequestDrawer({ title, close, children, size = 'min(72rem, 100vw)' }: RequestDrawerProps) {
  const isTop = useLayer()
  const [opener] = useState(() => document.activeElement)
  useEffect(
    () => () => {
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus({ preventScroll: true })
    },
    [opener],
  )
  return (
    <Drawer
      opened
      onClose={() => isTop() && close()}
      position="right"
      size={size}
      title={title}
      lockScroll={false}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {children}
    </Drawer>
  )
}
