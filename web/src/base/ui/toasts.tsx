import { useNotifications } from '@mantine/notifications'
import { lazy, Suspense, useState } from 'react'

export const importToastList = () => import('./toast-list.tsx')
const ToastList = lazy(importToastList)

/** Where toasts appear. The first page does without its code; a toast waits for it. */
export function Toasts() {
  const { notifications } = useNotifications()
  const [isUsed, setUsed] = useState(false)
  if (notifications.length > 0 && !isUsed) setUsed(true)
  return isUsed ? (
    <Suspense fallback={null}>
      <ToastList />
    </Suspense>
  ) : null
}
