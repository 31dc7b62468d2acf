-- Coroutines that call each other, string and table work, collections.  SPDX-License-Identifier: Apache-2.0
local function numbers(n)
  return coroutine.wrap(function() for i = 2, n do coroutine.yield(i) end end)
end
local function without(p, from)
  return coroutine.wrap(function() for i in from do if i % p ~= 0 then coroutine.yield(i) end end end)
end
local function primes(n)
  local from, out = numbers(n), {}
  while true do
    local p = from()
    if not p then return out end
    out[#out + 1] = p
    from = without(p, from)
  end
end
local found = primes(1500)
local sum, text = 0, {}
for i = 1, 300000 do
  sum = (sum * 31 + i) % 1000000007
  text[i % 1000 + 1] = "x" .. i
end
collectgarbage()
print(#found, found[#found], sum, #table.concat(text))
