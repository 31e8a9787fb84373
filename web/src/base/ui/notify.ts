// Toasts: what happened, and what went wrong where no form shows it.
import { notifications } from '@mantine/notifications'

const PROBLEM_CLOSES_AFTER_MS = 10_000
const CLOSE = { 'aria-label': 'Close' }

export const notify = {
  done(message: string): void {
    notifications.show({ message, color: 'teal', closeButtonProps: CLOSE })
  },
  problem(error: Error): void {
    notifications.show({
      message: error.message,
      color: 'red',
      autoClose: PROBLEM_CLOSES_AFTER_MS,
      closeButtonProps: CLOSE,
    })
  },
}
