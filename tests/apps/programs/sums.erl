%% Processes that each sum a list, on every scheduler.  SPDX-License-Identifier: Apache-2.0
-module(sums).
-export([main/0]).

main() ->
    Self = self(),
    [spawn(fun() -> Self ! {sum, lists:sum(lists:seq(1, 20000 + N rem 7))} end) || N <- lists:seq(1, 2000)],
    Total = lists:sum([receive {sum, X} -> X end || _ <- lists:seq(1, 2000)]),
    Table = lists:foldl(fun(I, M) -> M#{I rem 997 => [I | maps:get(I rem 997, M, [])]} end, #{}, lists:seq(1, 50000)),
    io:format("~p ~p ~s~n", [Total, lists:sum([length(L) || L <- maps:values(Table)]),
                             binary:encode_hex(erlang:md5(term_to_binary(lists:sort(maps:to_list(Table)))))]),
    halt().
