# Tasks, messages, agents, many at once.  SPDX-License-Identifier: Apache-2.0
total =
  1..400
  |> Task.async_stream(fn n -> Enum.sum(Enum.map(1..(5000 + rem(n, 7)), &(&1 * n))) end, max_concurrency: 16)
  |> Enum.reduce(0, fn {:ok, x}, sum -> sum + x end)

{:ok, agent} = Agent.start_link(fn -> %{} end)
1..200 |> Enum.map(fn n -> Task.async(fn -> Agent.update(agent, &Map.update(&1, rem(n, 10), n, fn x -> x + n end)) end) end) |> Enum.each(&Task.await/1)
IO.inspect({total, Agent.get(agent, &Map.to_list/1)})
