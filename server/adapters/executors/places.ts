/** A number of places, given out in the order of asking. */
export type Places = {
  /** Resolves with a function that gives the place back; with undefined when the signal came first. */
  take(signal: AbortSignal): Promise<(() => void) | undefined>
}

export function createPlaces(count: number): Places {
  const queue: (() => void)[] = []
  let free = count

  function giveBack(): void {
    free++
    queue.shift()?.()
  }

  return {
    take(signal) {
      return new Promise((resolve) => {
        const get = () => {
          free--
          signal.removeEventListener('abort', leave)
          resolve(giveBack)
        }
        const leave = () => {
          queue.splice(queue.indexOf(get), 1)
          resolve(undefined)
        }
        if (signal.aborted) return resolve(undefined)
        if (free > 0) return get()
        queue.push(get)
        signal.addEventListener('abort', leave, { once: true })
      })
    },
  }
}
