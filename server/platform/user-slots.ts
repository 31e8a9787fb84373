/** How much of something expensive runs at the same time: in this process, and for one user. */
export function createSlots(limits: { perProcess: number; perUser: number }) {
  const byUser = new Map<number, number>()
  let taken = 0
  return {
    /** Returns how to release the slot; undefined when there is none. */
    acquire(userId: number): (() => void) | undefined {
      const own = byUser.get(userId) ?? 0
      if (taken >= limits.perProcess || own >= limits.perUser) return undefined
      taken += 1
      byUser.set(userId, own + 1)
      return () => {
        taken -= 1
        const left = byUser.get(userId)! - 1
        if (left === 0) byUser.delete(userId)
        else byUser.set(userId, left)
      }
    },
  }
}
