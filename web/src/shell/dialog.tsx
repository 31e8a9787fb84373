import { Modal, type ModalProps } from '@mantine/core'
import { useEffect, useState } from 'react'

type DialogProps = Pick<ModalProps, 'title' | 'size' | 'centered' | 'children'> & { close(): void }

/** Open for as long as it is drawn. Whoever leaves it finds the keyboard where it was before. */
export function Dialog({ close, ...rest }: DialogProps) {
  const [opener] = useState(() => document.activeElement)
  useEffect(
    () => () => {
      // Mantine gives the focus back only to dialogs that stay drawn while they are closed.
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus({ preventScroll: true })
    },
    [opener],
  )
  return <Modal {...rest} opened onClose={close} lockScroll={false} closeButtonProps={CLOSE} />
}

const CLOSE = { 'aria-label': 'Close' }
